/** Charts without a library: SVG for columns, a table with bars for the rest. Styles are classes, because the page's CSP allows no others. */

const SVG = "http://www.w3.org/2000/svg";
const money = new Intl.NumberFormat("en", { style: "currency", currency: "EUR", maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const monthName = new Intl.DateTimeFormat("en", { month: "short", timeZone: "UTC" });

export const formatMoney = (amount) => money.format(amount);
export const sumOf = (amounts) => amounts.reduce((sum, { amount }) => sum + amount, 0);

function svgElement(name, attributes, text = "") {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return element;
}

/** One column for each month. */
export function columns(months) {
  const [width, height, labels] = [56, 180, 40];
  const highest = Math.max(1, ...months.map(({ amount }) => amount));
  const names = months.map(({ label }) => monthName.format(new Date(`${label}-01`)));
  const chart = svgElement("svg", {
    viewBox: `0 0 ${months.length * width} ${height + labels}`,
    role: "img",
    "aria-label": months.map(({ amount }, index) => `${names[index]}: ${money.format(amount)}`).join(", "),
  });
  for (const [index, { amount }] of months.entries()) {
    const [x, size] = [index * width, (amount / highest) * height];
    const middle = { x: x + width / 2, "text-anchor": "middle" };
    chart.append(
      svgElement("rect", { x: x + 5, y: height - size + 18, width: width - 10, height: size, rx: 4, class: "column" }),
      svgElement("text", { ...middle, y: height - size + 12, class: "value" }, short.format(amount)),
      svgElement("text", { ...middle, y: height + labels - 6 }, names[index]),
    );
  }
  return chart;
}

/** One row for each label, with a bar in relation to the greatest. */
export function rows(amounts) {
  const highest = Math.max(1, ...amounts.map(({ amount }) => amount));
  return amounts.map(({ label, amount }) => {
    const row = document.createElement("tr");
    const [name, bar, value] = ["th", "td", "td"].map((tag) => document.createElement(tag));
    name.scope = "row";
    name.textContent = label;
    value.textContent = money.format(amount);
    const size = { width: `${(amount / highest) * 100}%`, height: 12, rx: 4, class: "column" };
    const picture = svgElement("svg", { height: 12, "aria-hidden": "true" });
    picture.append(svgElement("rect", size));
    bar.append(picture);
    row.append(name, bar, value);
    return row;
  });
}
