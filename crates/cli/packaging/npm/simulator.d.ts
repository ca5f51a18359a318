/**
 * Starts a simulator on free ports with options of `kiln simulate`, and sets the variables that
 * clients read: IMAGEKILN_BASE_URL, IMAGEKILN_API_KEY and others. Returns a function that stops it.
 */
export function start(options?: string[]): Promise<() => Promise<void>>;
/** Gets a path of the control port, which takes no key, or posts a body to it. */
export function control(path: string, body?: object): Promise<unknown>;
/** Removes all tasks, webhooks, requests and faults. */
export function reset(): Promise<void>;
/** Adds a fault, such as `html-502@poll:2x`. */
export function addFault(rule: string): Promise<void>;
/** Returns the number of received requests that match the pattern. */
export function count(pattern: object): Promise<number>;
/**
 * Fails unless this number of requests match the pattern. The error shows the requests that do, or
 * those that differ least, with what differs.
 */
export function verify(times: number, pattern: object): Promise<void>;
