// The choice of a version, in the sidebar. versions.js, above the folders of the versions, has their names, and pages.js in
// each folder the pages of that version. Both are scripts: browsers refuse fetch() for files.
document.addEventListener("DOMContentLoaded", () => {
  const place = document.querySelector(".version-switch span");
  const own = place.textContent;
  const root = new URL(document.documentElement.dataset.content_root, location.href);
  const load = (path, then) => {
    const script = document.createElement("script");
    script.src = new URL(path, root);
    script.onload = script.onerror = then;
    document.head.append(script);
  };
  const go = (version) => {
    const page = decodeURI(location.pathname.slice(root.pathname.length));
    window.pydocaPages = [];
    load(`../${version}/pages.js`, () => {
      const same = window.pydocaPages.includes(page) ? page + location.search + location.hash : "index.html";
      location.href = new URL(`../${version}/${same}`, root);
    });
  };
  load("../versions.js", () => {
    const versions = window.pydocaVersions ?? [];
    if (versions.every((version) => version === own)) return;
    const select = document.createElement("select");
    select.ariaLabel = "Version";
    for (const version of new Set([...versions, own])) select.append(new Option(version, version, false, version === own));
    select.addEventListener("change", () => {
      go(select.value);
      select.value = own; // what a reader who comes back finds
    });
    place.replaceChildren(select);
  });
});
