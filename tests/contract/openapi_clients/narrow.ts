// Every envelope is narrowed by its mark alone, and a misspelt name is an error of the compiler. `./bodies.js` has the
// types of one generator by the names of the operations.
import type { Bodies, Errors } from "./bodies.js";

const rejected = (why: unknown): never => {
  throw new Error(String(why));
};

export function futures(body: Bodies["reference_futures"]): string[] {
  if (body.ret_code !== 0) return rejected(body.error.code);
  // @ts-expect-error
  body.data.reference_lists;
  // @ts-expect-error
  body.error;
  return body.data.reference_list.map((future) => future.code);
}

export function dividends(body: Bodies["dividends"]): number[] {
  if (body.ret_code === 0) {
    // @ts-expect-error
    body.data.dividend_list[0]?.ex_dates;
    return body.data.dividend_list.map((dividend) => dividend.dividend_per_share);
  }
  // @ts-expect-error
  body.data;
  return rejected(body.error.code);
}

type Ipos = Bodies["ipo_list_hk"] | Bodies["ipo_list_us"] | Bodies["ipo_list_cn"] | Bodies["ipo_list_sg"];

export function ipos(body: Ipos | Bodies["ipo_list_my"]): string[] {
  if (body.ret_code !== 0) return rejected(body.error.code);
  return body.data.list.map((ipo) => ipo.code);
}

export function plate(body: Bodies["plate_stocks"]): unknown {
  if (body.code !== 0) return rejected(body.code);
  // @ts-expect-error
  body.pagination.has_next;
  return body.pagination.has_more ? body.pagination.next_key : body.data;
}

export function crypto(body: Bodies["crypto_orders"]): string[] {
  if (body.code !== 0) return rejected(body.msg);
  // @ts-expect-error
  body.data.orders[0]?.orderId;
  return body.data.completed ? [] : body.data.orders.map((order) => order.order_id);
}

export function orders(body: Bodies["sim_orders"]): string[] {
  if (body.ret_code !== 0) return rejected(body.ret_code);
  return body.data.orders.map((order) => order.order_id);
}

export function positions(body: Bodies["sim_positions"]): string[] {
  if (body.ret_code !== 0) return rejected(body.ret_code);
  return body.data.positions.map((position) => position.pstn_id);
}

export function fills(body: Bodies["fills_history"]): string[] {
  switch (body.s) {
    case "ok":
      // @ts-expect-error
      body.d.order_fills[0]?.orderId;
      return body.d.order_fills.map((fill) => fill.deal_id);
    case "error":
      // @ts-expect-error
      body.d;
      return rejected(body.errcode);
  }
}

// Any other status has the endpoint's envelope, too.
export function failure(
  code: Errors["crypto_orders"],
  ret_code: Errors["dividends"],
  s: Errors["fills_history"],
): (number | string | undefined)[] {
  return [code.code, code.msg, ret_code.ret_code, ret_code.error?.code, s.errcode, s.errmsg];
}
