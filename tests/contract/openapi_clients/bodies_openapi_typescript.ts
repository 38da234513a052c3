// The bodies of success statuses, and of all others, as openapi-typescript has them.
import type { operations } from "./schema.js";

type Json<Response> = Response extends { content: { "application/json": infer Body } } ? Body : never;
export type Bodies = { [Name in keyof operations]: Json<operations[Name]["responses"]["2XX"]> };
export type Errors = { [Name in keyof operations]: Json<operations[Name]["responses"]["default"]> };
