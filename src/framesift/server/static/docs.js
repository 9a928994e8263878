// The API's description, drawn from openapi.json: enough to call it, with nothing loaded from elsewhere.
import { el, find, get } from "./common.js";

const METHODS = ["get", "post", "put", "delete"];
let schemas = {};

function nameOf(schema) {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").at(-1);
  if (schema.anyOf) return schema.anyOf.map(nameOf).join(" or ");
  if (schema.type === "array") return `list of ${nameOf(schema.items) || "anything"}`;
  if (schema.prefixItems) return `(${schema.prefixItems.map(nameOf).join(", ")})`;
  if (schema.enum) return schema.enum.join(" | ");
  return schema.const ?? schema.type ?? "anything";
}

function fields(name) {
  const schema = schemas[name];
  if (!schema?.properties) return "";
  const rows = Object.entries(schema.properties).map(([key, value]) => {
    const notes = [nameOf(value), schema.required?.includes(key) ? "required" : "", value.description ?? ""];
    return el("li", {}, el("code", {}, key), el("span", {}, notes.filter(Boolean).join(" · ")));
  });
  return el("details", { className: "lists" }, el("summary", {}, name), schema.description ? el("p", { className: "fine" }, schema.description) : "", el("ul", {}, rows));
}

function operation(path, method, given) {
  const parameters = (given.parameters ?? []).map((one) =>
    el("li", {}, el("code", {}, one.name), el("span", {}, [one.in, nameOf(one.schema), one.description ?? ""].filter(Boolean).join(" · "))),
  );
  const body = given.requestBody?.content ?? {};
  const wanted = Object.entries(body).map(([kind, one]) => fields(nameOf(one.schema)) || el("p", { className: "fine" }, `Body: ${kind}`));
  const reply = Object.entries(given.responses).find(([status]) => status.startsWith("2"))?.[1];
  const kinds = Object.entries(reply?.content ?? {});
  const made = kinds.map(([kind, one]) => fields(nameOf(one.schema?.items ?? one.schema)) || el("p", { className: "fine" }, `Answer: ${kind}`));
  return el(
    "section",
    { className: "call" },
    el("h3", {}, el("code", {}, el("b", {}, method.toUpperCase()), ` ${path}`)),
    el("p", {}, given.description ?? given.summary ?? ""),
    parameters.length ? el("details", { className: "lists" }, el("summary", {}, `Parameters (${parameters.length})`), el("ul", {}, parameters)) : "",
    ...wanted,
    ...made,
  );
}

try {
  const api = await get("/api/openapi.json");
  schemas = api.components.schemas;
  const parts = [el("h1", {}, "The HTTP API"), el("p", { className: "summary" }, api.info.description)];
  let tag = "";
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const method of METHODS.filter((name) => name in methods)) {
      if (methods[method].tags?.[0] !== tag) parts.push(el("h2", {}, (tag = methods[method].tags?.[0] ?? "")));
      parts.push(operation(path, method, methods[method]));
    }
  }
  find("docs").replaceChildren(...parts);
} catch (error) {
  find("docs").replaceChildren(el("p", { className: "problem", role: "alert" }, error.message));
}
