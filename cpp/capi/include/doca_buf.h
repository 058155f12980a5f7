/// Bufs: descriptors of pieces of a memory map, from an inventory or a pool.
///
/// A piece has a headroom from head to data, the data, and a tailroom behind it. A task reads the data of a source, and
/// appends to the tailroom of a destination. Chained bufs form a list, which its first element, the head, stands for.
/// Besides what is said at each function: INVALID_VALUE for NULL and for a buf that was given back; IN_USE for setters
/// while a task has the buf. An object of another kind in the place of a buf is undefined behaviour. One thread at a
/// time for all bufs of an inventory or pool.
#ifndef DOCA_BUF_H_
#define DOCA_BUF_H_

#include <doca_build_config.h>
#include <doca_compat.h>
#include <doca_error.h>
#include <doca_types.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_buf;

// Counts references to a list; refcount, unless NULL, gets the count before. NOT_PERMITTED on a later element.
/// TOO_BIG at 65535.
DOCA_STABLE doca_error_t doca_buf_inc_refcount(struct doca_buf* buf, uint16_t* refcount);
/// The last reference gives every element back to where it is from. NOT_PERMITTED for it while a task has the buf,
/// BAD_STATE when the buf is back already.
DOCA_STABLE doca_error_t doca_buf_dec_refcount(struct doca_buf* buf, uint16_t* refcount);
DOCA_STABLE doca_error_t doca_buf_get_refcount(const struct doca_buf* buf, uint16_t* refcount);

// Addresses, and lengths in bytes.
DOCA_STABLE doca_error_t doca_buf_get_len(const struct doca_buf* buf, size_t* len);
DOCA_STABLE doca_error_t doca_buf_get_head(const struct doca_buf* buf, void** head);
DOCA_STABLE doca_error_t doca_buf_get_data(const struct doca_buf* buf, void** data);
DOCA_STABLE doca_error_t doca_buf_get_data_len(const struct doca_buf* buf, size_t* data_len);
/// INVALID_VALUE unless the data lie in the piece.
DOCA_STABLE doca_error_t doca_buf_set_data(struct doca_buf* buf, void* data, size_t data_len);
DOCA_EXPERIMENTAL doca_error_t doca_buf_set_data_len(struct doca_buf* buf, size_t data_len);
/// Empties the data where they are, so that a destination can be filled again.
DOCA_STABLE doca_error_t doca_buf_reset_data_len(struct doca_buf* buf);

// Lists. next_buf is NULL behind the last element; the answers in a uint8_t are 1 or 0.
DOCA_STABLE doca_error_t doca_buf_get_next_in_list(struct doca_buf* buf, struct doca_buf** next_buf);
DOCA_STABLE doca_error_t doca_buf_get_last_in_list(struct doca_buf* buf, struct doca_buf** last_buf);
DOCA_STABLE doca_error_t doca_buf_is_last_in_list(const struct doca_buf* buf, uint8_t* is_last);
DOCA_STABLE doca_error_t doca_buf_is_first_in_list(const struct doca_buf* buf, uint8_t* is_first);
DOCA_STABLE doca_error_t doca_buf_is_in_list(const struct doca_buf* buf, uint8_t* is_in_list);
/// NOT_PERMITTED on a later element.
DOCA_STABLE doca_error_t doca_buf_get_list_len(const struct doca_buf* buf, uint32_t* num_elements);
/// Appends list2 to list1. NOT_PERMITTED unless both are heads and list2 has one reference.
DOCA_STABLE doca_error_t doca_buf_chain_list(struct doca_buf* list1, struct doca_buf* list2);
/// The same for a program that knows the last element of list1.
DOCA_EXPERIMENTAL doca_error_t doca_buf_chain_list_tail(struct doca_buf* list1_head, struct doca_buf* list1_tail,
                                                        struct doca_buf* list2);
/// Cuts list1 before list2, an element of it that becomes the head of the rest. INVALID_VALUE for another element.
DOCA_STABLE doca_error_t doca_buf_unchain_list(struct doca_buf* list1, struct doca_buf* list2);

#ifdef __cplusplus
}
#endif

#endif  // DOCA_BUF_H_
