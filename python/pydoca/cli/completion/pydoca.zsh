# $1: the kind of values. Offers them with their descriptions.
_pydoca_offer() {
  local value description
  local -a values
  while IFS=$'\t' read -r value description; do
    values+=("${value//:/\\:}:$description")
  done < <(command ${_comp_command1:-pydoca} --complete-values $1 "$PREFIX" 2>/dev/null </dev/null)
  _describe -t "pydoca-$1" "${1//_/ }" values
}
