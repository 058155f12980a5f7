// The field above the lists of names: shows the names that contain what the reader has typed.
document.addEventListener("DOMContentLoaded", () => {
  const field = document.querySelector(".name-filter");
  if (field === null) return;
  const items = [...document.querySelectorAll(".name-list li")];
  const sections = [...document.querySelectorAll("section section")];
  field.addEventListener("input", () => {
    const wanted = field.value.trim().toLowerCase();
    for (const item of items) item.hidden = !item.textContent.toLowerCase().includes(wanted);
    for (const section of sections) section.hidden = section.querySelector("li:not([hidden])") === null;
  });
});
