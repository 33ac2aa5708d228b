// What the scripts of the pages share.
'use strict';
// Whoever tests the page looks for data-error and data-drawn in the document.
const root = document.documentElement;
addEventListener('error', event => { root.dataset.error = event.message; });

const data = JSON.parse(document.getElementById('data').textContent);

function size(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  for (; bytes >= 1024 && unit < 4; ++unit) bytes /= 1024;
  return `${unit ? bytes.toFixed(bytes < 10 ? 2 : 1) : bytes} ${units[unit]}`;
}
// The smallest of 1, 2, 5 times a power of ten, or in bytes the smallest power of two, of which at
// most so many fit.
function round_step(range, most, bytes) {
  if (bytes) return 2 ** Math.ceil(Math.log2(range / most));
  const power = 10 ** Math.floor(Math.log10(range / most));
  return [1, 2, 5, 10].map(r => r * power).find(step => range / step <= most * 1.000001);
}
function bytes_tick(bytes) {
  return size(bytes).replace(/(\.\d*?)0+ /, '$1 ').replace('. ', ' ');
}
function html(parent, name, text, attributes = {}) {
  const element = parent.appendChild(document.createElement(name));
  if (text !== undefined) element.textContent = text;
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  return element;
}
function draw(parent, name, attributes, text) {
  const element =
      parent.appendChild(document.createElementNS('http://www.w3.org/2000/svg', name));
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (text !== undefined) element.textContent = text;
  return element;
}
function show_tip(event, text) {
  const tip = document.getElementById('tip');
  tip.textContent = text;
  tip.style.display = text ? 'block' : 'none';
  tip.style.left = `${Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)}px`;
  tip.style.top = `${Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8)}px`;
}
