/*
 * Swagger UI renders this page, because Redoc 3.0.1 and Scalar 1.72.1 insert inline styles, which the service's
 * Content-Security-Policy refuses. Swagger UI runs under it and has a dark theme; the plugin below adds the calls of curl and
 * the credentials.
 *
 * Nobody can send a call from this page: browsers send no body with a GET, and must not hold an API key.
 */

const nothing = () => null;

/**
 * The document as this page shows it: with the address of the service, without patterns that nobody can read, and with the
 * rules of all calls apart from the first sentence, so that a phone can fold them.
 */
function forReading(text) {
  const document = JSON.parse(text, (name, value) => {
    if (name === "pattern" && /u0000|\\p\{/.test(value)) return undefined;
    if (name === "source") return value.replaceAll("$SERVICE_URL", location.origin);
    return value;
  });
  const [first, ...rules] = document.info.description.split("\n\n");
  Object.assign(document.info, { description: first, "x-rules": rules.join("\n\n") });
  return JSON.stringify(document);
}

/** The document without the other operations. Swagger UI resolves the references of all that it gets, again for each operation that opens. */
const aroundOperation = (spec, [part, path]) =>
  part === "paths" ? { ...spec, paths: { [path]: spec.paths[path] } } : spec;

/** Copies the text of `code`. Browsers give no clipboard to pages over plain HTTP; then the text is selected. */
async function copy(code) {
  try {
    await navigator.clipboard.writeText(code.textContent);
    return "Copied";
  } catch {
    getSelection().selectAllChildren(code);
    return "Selected";
  }
}

/** The names of the security schemes that an operation takes. */
const schemesOf = (operation) => operation.get("security").flatMap((scheme) => scheme.keySeq());

/** Links to the descriptions of these security schemes. */
const linksTo = (schemes, h) =>
  schemes.map((name) => h("a", { key: name, href: `#credential-${name}` }, h("code", null, name))).interpose(" or ");

/** What stands before the calls: the rules of all of them, and the credentials. */
function introductionOf({ createElement: h }) {
  /** A part of the introduction. A phone folds it, so that its first screen has calls. */
  const Folded = ({ title, children }) =>
    h(
      "details",
      { open: matchMedia("(min-width: 641px)").matches },
      h("summary", null, h("h2", null, title)),
      children,
    );

  return ({ specSelectors, getComponent }) => {
    const Markdown = getComponent("Markdown", true);
    return h(
      "section",
      { className: "introduction" },
      h(Folded, { title: "Rules of every call" }, h(Markdown, { source: specSelectors.info().get("x-rules") })),
      h(
        Folded,
        { title: "Credentials" },
        h(
          "dl",
          { className: "credentials" },
          specSelectors
            .securityDefinitions()
            .entrySeq()
            .map(([name, scheme]) =>
              h(
                "div",
                { key: name, id: `credential-${name}` },
                h("dt", null, h("code", null, name)),
                h("dd", null, h(Markdown, { source: scheme.get("description") })),
              ),
            ),
        ),
      ),
    );
  };
}

function referencePlugin({ React }) {
  const { createElement: h, useRef, useState } = React;

  function Curl({ source }) {
    const code = useRef(null);
    const [outcome, setOutcome] = useState("");
    const onClick = async () => setOutcome(await copy(code.current));
    return h(
      "div",
      { className: "curl" },
      h("button", { type: "button", className: "btn", onClick }, "Copy curl"),
      h("span", { role: "status" }, outcome),
      h("pre", null, h("code", { ref: code }, source)),
    );
  }

  const CallExample = ({ operation }) =>
    h(
      "div",
      { className: "call-example" },
      h(
        "p",
        { className: "credential" },
        "Credential: ",
        linksTo(schemesOf(operation), h),
        schemesOf(operation).isEmpty() && "none",
      ),
      operation.get("x-codeSamples").map((sample) => {
        const source = sample.get("source");
        return h(Curl, { key: source, source });
      }),
    );

  /** A refusal as one line that opens: most readers look for one of them. What it holds is made when it opens. */
  function Refusal({ title, children }) {
    const [isOpen, setIsOpen] = useState(false);
    return h(
      "details",
      { onToggle: (event) => setIsOpen(event.currentTarget.open) },
      h("summary", null, title),
      isOpen && children,
    );
  }

  const FoldedResponse = (Response) => (props) =>
    Number(props.code) < 400
      ? h(Response, props)
      : h(
          "tr",
          { className: "refusal" },
          h(
            "td",
            { colSpan: 3 },
            h(
              Refusal,
              { title: `${props.code} ${props.response.get("description").replaceAll("`", "")}` },
              h("table", null, h("tbody", null, h(Response, props))),
            ),
          ),
        );

  return {
    afterLoad: ({ fn }) => {
      const { resolveSubtree } = fn;
      fn.resolveSubtree = (spec, path, options) => resolveSubtree(aroundOperation(spec, path), path, options);
    },
    statePlugins: {
      spec: { wrapActions: { updateSpec: (updateSpec) => (text) => updateSpec(text ? forReading(text) : text) } },
    },
    components: {
      AuthorizeBtnContainer: introductionOf(React),
      authorizeOperationBtn: nothing,
      ServersContainer: nothing,
    },
    wrapComponents: {
      parameters: (Parameters) => (props) =>
        h(React.Fragment, null, h(CallExample, { operation: props.operation }), h(Parameters, props)),
      response: FoldedResponse,
    },
  };
}

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const followTheme = () => document.documentElement.classList.toggle("dark-mode", prefersDark.matches);
prefersDark.addEventListener("change", followTheme);
followTheme();

SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  defaultModelExpandDepth: 0,
  plugins: [referencePlugin],
  supportedSubmitMethods: [],
  validatorUrl: null,
});
