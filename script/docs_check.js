// What docs_check.py asks of a page: how far it is wider than the window, which texts are cut, what of the navigation is out
// of reach, and the least contrast of text.
() => {
  const root = document.documentElement;

  const light = (colour) => {
    const [r, g, b] = colour.match(/[\d.]+/g).slice(0, 3).map((v) => v / 255)
      .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = getComputedStyle(each).backgroundColor;
      if (!/^rgba\(.*, 0\)$/.test(colour)) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const contrast = (element) => {
    const pair = [light(getComputedStyle(element).color), light(behind(element))].sort((a, b) => b - a);
    return (pair[0] + 0.05) / (pair[1] + 0.05);
  };
  const texts = [...document.querySelectorAll("article p, article li, .pydoca-display dd, .pydoca-display td")];

  // The left and the right end of where text inside of an element can be read, or null where it can be scrolled to.
  const frameOf = (element) => {
    let [left, right] = [0, root.clientWidth];
    for (let each = element; each !== document.body; each = each.parentElement) {
      const overflow = getComputedStyle(each).overflowX;
      if (/auto|scroll/.test(overflow)) return null;
      if (overflow === "visible") continue;
      const box = each.getBoundingClientRect();
      [left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
    }
    return [left, right];
  };
  const elsewhere = ".sidebar-drawer, .toc-drawer, .skip-to-content, .back-to-top, svg, select"; // outside until wanted
  const isCut = (text) => {
    const element = text.parentElement;
    if (!text.data.trim() || element.closest(elsewhere) || !element.checkVisibility({ visibilityProperty: true }))
      return false;
    const range = document.createRange();
    range.selectNodeContents(text);
    const box = range.getBoundingClientRect();
    const frame = frameOf(element);
    return box.width > 0 && frame !== null && (box.left < frame[0] - 1 || box.right > frame[1] + 1);
  };
  const cut = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) if (isCut(walker.currentNode)) cut.push(walker.currentNode.data.trim().slice(0, 40));

  const isSeen = (selector) => {
    const box = document.querySelector(selector)?.getBoundingClientRect();
    return box && box.width > 0 && box.left >= 0 && box.right <= root.clientWidth;
  };
  // The parts of the sidebar that are not seen, neither at once nor when the menu is open.
  const outOfReach = () => {
    const still = document.head.appendChild(document.createElement("style"));
    still.textContent = "* { transition: none !important; }";
    const menu = isSeen(".nav-overlay-icon") ? document.querySelector("#__navigation") : null;
    menu?.click();
    const wanted = [".sidebar-brand", ".version-switch", ".sidebar-search", ".sidebar-tree a"];
    const lost = wanted.filter((each) => !isSeen(each));
    menu?.click();
    still.remove();
    return lost;
  };

  return {
    excess: root.scrollWidth - root.clientWidth,
    cut: cut.slice(0, 5),
    lost: document.querySelector("article") ? outOfReach() : [], // a page of source has no sidebar
    contrast: Math.min(21, ...texts.slice(0, 40).map(contrast)),
  };
}
