// The data of the report, and how elements are made of it.
const data = JSON.parse(document.getElementById("data").textContent);
const { pages, clusters } = data;
const NONE = "–"; // what stands where a value is null
const count = new Intl.NumberFormat("en").format;
const plural = (noun) => (noun.endsWith("y") ? `${noun.slice(0, -1)}ies` : `${noun}s`);
const counting = (number, noun) => `${count(number)} ${number === 1 ? noun : plural(noun)}`;
const byId = (id) => document.getElementById(id);

// All text of pages goes in as text, never as markup.
function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}
const quiet = (...children) => el("span", { class: "quiet" }, ...children);
