// Reads all fills with the client that hey-api generated, and prints how many.
import { createClient, createConfig } from "./generated/client/index.js";
import { fillsHistory } from "./generated/sdk.gen.js";

const [baseUrl, token, accId] = process.argv.slice(2);
const client = createClient(createConfig({ baseUrl, auth: token }));
let count = 0;
let code = "";
let page_flag = "";
for (;;) {
  const { data } = await fillsHistory({
    client,
    path: { acc_id: accId },
    query: { trd_market: "HK", page_flag },
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
