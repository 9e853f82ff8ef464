import { columns, formatMoney, rows, sumOf } from "/charts.js";
import { ViewerClient } from "/viewer.js";

/** Sentences for people, by the code of the error. After any other code, a later try may succeed. */
const SENTENCES = {
  signed_out: "You are signed out. Sign in to see your sales.",
  user_group_suspended: "Your account is suspended. Contact our support.",
  user_group_not_found: "There are no sales for your account. Contact our support.",
};
const UNAVAILABLE = "Your sales are not available at the moment. This page tries again by itself.";
const REFRESH_MS = 15_000;

const viewer = new ViewerClient({
  url: document.documentElement.dataset.service,
  session: () => fetch("/session", { method: "POST" }),
});
const find = (id) => document.getElementById(id);

/** Calls the product's own API with the session, and once more with another one if that has ended. */
async function loadReport(months) {
  const ask = async (token) => fetch(`/report?months=${months}`, { headers: { Authorization: `Bearer ${token}` } });
  const { token } = await viewer.session();
  let response = await ask(token);
  if (response.status === 401) response = await ask((await viewer.session({ refused: token })).token);
  const body = await response.json();
  if (!response.ok) throw Object.assign(new Error("There is no report."), body.error);
  return body;
}

function draw({ group, report }) {
  const revenue = sumOf(report.months);
  find("customer").textContent = group.name;
  document.title = `${group.name}, Tally`;
  find("revenue").textContent = formatMoney(revenue);
  find("orders").textContent = report.orders.toLocaleString("en");
  find("average").textContent = formatMoney(revenue / Math.max(1, report.orders));
  find("months").replaceChildren(columns(report.months));
  find("stores").replaceChildren(...rows(report.stores));
  find("products").replaceChildren(...rows(report.products));
}

const chosenMonths = () => document.querySelector("[name=months]:checked").value;

async function refresh() {
  const months = chosenMonths();
  let problem;
  try {
    const [{ group }, report] = await Promise.all([viewer.view(), loadReport(months)]);
    // Somebody has chosen another period meanwhile, whose report follows.
    if (months !== chosenMonths()) return;
    draw({ group, report });
  } catch ({ name, code }) {
    // This page's person has signed out, and the page is about to go.
    if (name === "AbortError") return;
    problem = { code, sentence: SENTENCES[code] ?? UNAVAILABLE };
  }
  find("notice").textContent = problem?.sentence ?? "";
  find("again").hidden = problem?.code !== "signed_out";
  find("report").hidden = problem !== undefined;
}

async function signOut() {
  // Not by a form: the page sends no referrer, and a browser then sends no origin with a form either.
  const { ok } = await fetch("/sign-out", { method: "POST" }).catch(() => ({ ok: false }));
  if (!ok) {
    find("notice").textContent = "You are not signed out yet. Try again.";
    return;
  }
  viewer.reset();
  location.assign("/");
}

find("sign-out").addEventListener("click", signOut);
document.querySelector("fieldset").addEventListener("change", refresh);
setInterval(refresh, REFRESH_MS);
void refresh();
