// The API reference, drawn from openapi.json without loading anything from another site.
import { el, find, get } from "./common.js";

const METHODS = ["get", "post", "put", "patch", "delete"];
let schemas = {};

function typeName(schema) {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").at(-1);
  if (schema.anyOf) return schema.anyOf.map(typeName).join(" or ");
  if (schema.type === "array") return `list of ${typeName(schema.items) || "anything"}`;
  if (schema.prefixItems) return `(${schema.prefixItems.map(typeName).join(", ")})`;
  if (schema.enum) return schema.enum.join(" | ");
  return schema.const ?? schema.type ?? "anything";
}

function fields(name) {
  const schema = schemas[name];
  if (!schema?.properties) return "";
  const rows = Object.entries(schema.properties).map(([key, value]) => {
    const notes = [typeName(value), schema.required?.includes(key) ? "required" : "", value.description ?? ""];
    return el("li", {}, el("code", {}, key), el("span", {}, notes.filter(Boolean).join(" · ")));
  });
  return el(
    "details",
    { className: "lists" },
    el("summary", {}, name),
    schema.description ? el("p", { className: "fine" }, schema.description) : "",
    el("ul", {}, rows),
  );
}

function operation(path, method, spec) {
  const parameters = (spec.parameters ?? []).map((one) =>
    el(
      "li",
      {},
      el("code", {}, one.name),
      el("span", {}, [one.in, typeName(one.schema), one.description ?? ""].filter(Boolean).join(" · ")),
    ),
  );
  const body = spec.requestBody?.content ?? {};
  const bodies = Object.entries(body).map(
    ([kind, one]) => fields(typeName(one.schema)) || el("p", { className: "fine" }, `Body: ${kind}`),
  );
  const reply = Object.entries(spec.responses).find(([status]) => status.startsWith("2"))?.[1];
  const kinds = Object.entries(reply?.content ?? {});
  const replies = kinds.map(
    ([kind, one]) =>
      fields(typeName(one.schema?.items ?? one.schema)) || el("p", { className: "fine" }, `Response: ${kind}`),
  );
  return el(
    "section",
    { className: "call" },
    el("h3", {}, el("code", {}, el("b", {}, method.toUpperCase()), ` ${path}`)),
    el("p", {}, spec.description ?? spec.summary ?? ""),
    parameters.length
      ? el(
          "details",
          { className: "lists" },
          el("summary", {}, `Parameters (${parameters.length})`),
          el("ul", {}, parameters),
        )
      : "",
    ...bodies,
    ...replies,
  );
}

try {
  const api = await get("/api/openapi.json");
  schemas = api.components.schemas;
  const parts = [el("h1", {}, "The HTTP API"), el("p", { className: "summary" }, api.info.description)];
  let tag = "";
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const method of METHODS.filter((name) => name in methods)) {
      if (methods[method].tags?.[0] !== tag) parts.push(el("h2", {}, methods[method].tags?.[0] ?? ""));
      tag = methods[method].tags?.[0];
      parts.push(operation(path, method, methods[method]));
    }
  }
  find("docs").replaceChildren(...parts);
} catch (error) {
  find("docs").replaceChildren(el("p", { className: "problem", role: "alert" }, error.message));
}
