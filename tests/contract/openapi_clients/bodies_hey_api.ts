// The bodies of success statuses, and of all others, as hey-api has them.
import type * as types from "./generated/types.gen.js";

export type Bodies = {
  reference_futures: types.ReferenceFuturesResponse;
  dividends: types.DividendsResponse;
  ipo_list_hk: types.IpoListHkResponse;
  ipo_list_us: types.IpoListUsResponse;
  ipo_list_cn: types.IpoListCnResponse;
  ipo_list_sg: types.IpoListSgResponse;
  ipo_list_my: types.IpoListMyResponse;
  plate_stocks: types.PlateStocksResponse;
  crypto_orders: types.CryptoOrdersResponse;
  sim_orders: types.SimOrdersResponse;
  sim_positions: types.SimPositionsResponse;
  fills_history: types.FillsHistoryResponse;
};
export type Errors = {
  dividends: types.DividendsErrors["default"];
  crypto_orders: types.CryptoOrdersErrors["default"];
  fills_history: types.FillsHistoryErrors["default"];
};
