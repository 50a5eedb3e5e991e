// Asks the browser for a passkey, or to make one, and sends its answer with the form. Without scripts there is no button.
const PARTS = ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"];
// Browsers know passkeys of names alone, not of numbers.
const isUsable = isSecureContext && Boolean(window.PublicKeyCredential) && !/^[\d.]+$|^\[/.test(location.hostname);

const toBytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
const toText = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
const withBytes = (named) => ({ ...named, id: toBytes(named.id) });

function question({ publicKey }) {
  const asked = { ...publicKey, challenge: toBytes(publicKey.challenge) };
  if (asked.user) asked.user = withBytes(asked.user);
  for (const list of ["allowCredentials", "excludeCredentials"]) if (asked[list]) asked[list] = asked[list].map(withBytes);
  return { publicKey: asked };
}

function answer(credential) {
  const { id, type, response } = credential;
  const parts = PARTS.filter((part) => response[part]).map((part) => [part, toText(response[part])]);
  const clientExtensionResults = credential.getClientExtensionResults();
  return { id, rawId: id, type, response: Object.fromEntries(parts), clientExtensionResults };
}

async function optionsOf(form) {
  if (form.dataset.options) return JSON.parse(form.dataset.options);
  const response = await fetch(form.action, { headers: { Accept: "application/json" } });
  return (await response.json()).request_options;
}

for (const form of document.querySelectorAll("form[data-passkey]")) {
  const button = form.querySelector("button");
  const notice = form.querySelector("[role=alert]");
  const say = (text) => {
    notice.textContent = text;
    notice.hidden = !text;
  };
  const canTry = isUsable || form.dataset.passkey === "get";
  button.hidden = !canTry;
  if (!canTry) say(form.dataset.textUnusable);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!isUsable) return say(form.dataset.textUnusable);
    say("");
    button.disabled = true;
    try {
      const credential = await navigator.credentials[form.dataset.passkey](question(await optionsOf(form)));
      form.elements.credential.value = JSON.stringify(answer(credential));
      form.submit();
    } catch {
      say(form.dataset.textUnused);
    } finally {
      button.disabled = false;
    }
  });
}
