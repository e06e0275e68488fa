// Elements, whose texts are texts: what a file names cannot become HTML.

const SVG = "http://www.w3.org/2000/svg";

function make(name, attributes = {}, ...children) {
  return furnish(document.createElement(name), attributes, children);
}

function draw(name, attributes = {}, ...children) {
  return furnish(document.createElementNS(SVG, name), attributes, children);
}

function furnish(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function button(text, attributes, act) {
  const made = make("button", { type: "button", ...attributes }, text);
  made.addEventListener("click", act);
  return made;
}

function option(value, text) {
  return make("option", { value }, text);
}

const byId = (id) => document.getElementById(id);
