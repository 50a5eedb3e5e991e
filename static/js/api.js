// Swagger UI over the schema of this server. With the CSRF token of the session, operations can be tried.
import { csrfToken } from "./page.js";

const operationsAlone = (React) => ({ getComponent }) =>
  React.createElement("div", { className: "swagger-ui" }, React.createElement(getComponent("operations", true)));
const page = document.getElementById("swagger");
window.SwaggerUIBundle({
  domNode: page,
  url: page.dataset.schema,
  // Of more than 132 operations it shows three, so groups are opened one by one.
  docExpansion: "none",
  // The command that is shown is for a terminal, where the CSRF token of this session is of no use.
  showMutatedRequest: false,
  // Links to operations would stand inside the buttons that open them.
  deepLinking: false,
  validatorUrl: null,
  // The page has a heading, a main part and a link to the schema of its own, and people are signed in by their session.
  layout: "OperationsAlone",
  plugins: [({ React }) => ({ components: { OperationsAlone: operationsAlone(React) } })],
  requestInterceptor: (request) => ({ ...request, headers: { ...request.headers, "X-CSRFToken": csrfToken() } }),
});
