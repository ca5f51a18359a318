// Adds the token of `kiln mcp --listen` to the requests of the conformance suite, which has no option
// for headers.
import { createRequire } from "node:module";

const { Agent, setGlobalDispatcher } = createRequire(process.argv[1])("undici");
const authorization = `Bearer ${process.env.KILN_MCP_TOKEN}`;

const withToken =
  (dispatch) =>
  ({ headers = [], ...options }, handler) => {
    const more = Array.isArray(headers)
      ? [...headers, "authorization", authorization]
      : { ...headers, authorization };
    return dispatch({ ...options, headers: more }, handler);
  };

setGlobalDispatcher(new Agent().compose(withToken));
