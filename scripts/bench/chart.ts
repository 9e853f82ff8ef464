/** One line of the picture. Points are from left to right. */
export type Line = { name: string; color: string; points: { x: number; y: number }[] };

const WIDTH = 640;
const HEIGHT = 320;
const LEFT = 60;
const RIGHT = 40;
const TOP = 40;
const BOTTOM = 50;

/** An SVG of lines over a logarithmic x axis, with y from zero. */
export function chartOf(title: string, xName: string, yName: string, lines: Line[]): string {
  const points = lines.flatMap((line) => line.points);
  const logs = points.map(({ x }) => Math.log10(x));
  const [least, most] = [Math.min(...logs), Math.max(...logs)];
  const highest = Math.max(...points.map(({ y }) => y)) * 1.25;
  const left = (x: number) => LEFT + ((Math.log10(x) - least) / (most - least)) * (WIDTH - LEFT - RIGHT);
  const top = (y: number) => HEIGHT - BOTTOM - (y / highest) * (HEIGHT - TOP - BOTTOM);
  const text = (x: number, y: number, content: string, more = "") =>
    `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${more}>${content}</text>`;

  const columns = [...new Set(points.map(({ x }) => x))].map((x) =>
    text(left(x), HEIGHT - BOTTOM + 18, x.toLocaleString("en"), 'text-anchor="middle"'),
  );
  const rows = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const y = highest * share;
    return `<path d="M${LEFT} ${top(y).toFixed(1)}H${WIDTH - RIGHT}" stroke="#8886"/>${text(LEFT - 8, top(y) + 4, y.toFixed(2), 'text-anchor="end"')}`;
  });
  const drawn = lines.map(({ name, color, points }, index) => {
    const path = points.map(({ x, y }) => `${left(x).toFixed(1)} ${top(y).toFixed(1)}`).join("L");
    const dots = points.map(
      ({ x, y }) => `<circle cx="${left(x).toFixed(1)}" cy="${top(y).toFixed(1)}" r="3" fill="${color}"/>`,
    );
    const legend = text(LEFT + 10 + index * 90, TOP - 6, name, `style="fill:${color}"`);
    return `<path d="M${path}" fill="none" stroke="${color}" stroke-width="2"/>${dots.join("")}${legend}`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}">
<style>text { font: 12px sans-serif; fill: #888 }</style>
${[text(LEFT, 16, title, 'style="font-weight:bold"'), ...rows, ...columns, ...drawn].join("\n")}
${text((WIDTH + LEFT - RIGHT) / 2, HEIGHT - 10, xName, 'text-anchor="middle"')}
${text(14, HEIGHT / 2, yName, `text-anchor="middle" transform="rotate(-90 14 ${HEIGHT / 2})"`)}
</svg>
`;
}
