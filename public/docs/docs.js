// Calls cannot be tried from here: browsers send no body with a GET, and must not hold an API key.
SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  defaultModelExpandDepth: 3,
  supportedSubmitMethods: [],
  validatorUrl: null,
});
