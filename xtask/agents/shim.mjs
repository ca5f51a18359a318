// Sends requests for the service to the simulator: these servers have no setting for its address.
const { fetch } = globalThis;
const { SERVICE, IMAGEKILN_BASE_URL } = process.env;

globalThis.fetch = (url, options) => fetch(url.replace(SERVICE, IMAGEKILN_BASE_URL), options);
