// Reads all fills with the types that openapi-typescript generated, and prints how many.
import createClient from "openapi-fetch";
import type { paths } from "./schema.js";

const [baseUrl, token, accId] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });
let count = 0;
let code = "";
let page_flag = "";
for (;;) {
  const { data } = await client.GET("/api/v1.0/accounts/{acc_id}/fills_history", {
    params: { path: { acc_id: accId }, query: { trd_market: "HK", page_flag } },
  });
  if (data?.s !== "ok") throw new Error(`the service rejected the request: ${data?.errmsg}`);
  for (const fill of data.d.order_fills) {
    count += 1;
    code = fill.code;
  }
  if (data.d.completed) break;
  page_flag = data.d.page_flag;
}
console.log(count, code);
