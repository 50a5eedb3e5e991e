// Swagger UI over the schema of this server. With the CSRF token of the session, operations can be tried.
import { csrfToken } from "./page.js";

document.documentElement.classList.toggle("dark-mode", matchMedia("(prefers-color-scheme: dark)").matches);
const page = document.getElementById("swagger");
window.SwaggerUIBundle({
  domNode: page,
  url: page.dataset.schema,
  docExpansion: "none",
  deepLinking: true,
  validatorUrl: null,
  // The page has its own heading and link to the schema.
  plugins: [{ components: { InfoContainer: () => null } }],
  requestInterceptor: (request) => ({ ...request, headers: { ...request.headers, "X-CSRFToken": csrfToken() } }),
});
