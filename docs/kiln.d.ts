/**
 * What `kiln --json` prints. docs/json.md says which command prints which type.
 *
 * Later versions may add members, so ignore those that you do not know. Costs are in credits, times
 * in seconds since 1970 (UTC). Texts named `message`, `advice`, `causes` or `summary` are for
 * people.
 */

export type int = number

// Events

export interface Submitted { event: "submitted"; task: Task }
export interface Message {
  event: "note" | "warning" | "finishing" | "stopping" | "stopping_now"
  message: string
}
export interface Unrecorded {
  event: "not_recorded"; task: Task
  resume: string // the command that saves its picture
}
export interface Totals {
  event: "totals"
  saved: int; pictures: int
  credits: number | null
  seconds: number
}
export interface Error {
  event: "error" | "not_saved"
  kind: string // `kiln help exit-codes` lists them
  reason: string | null // why a webhook was rejected
  message: string; causes: string[]; advice: string | null
  violations: Violation[] // of a request
  problems: Problem[]; more_problems: int // of a job file: one of each of the first 20 kinds, and the number of others
  status: int | null // the status code of the response
  request_id: string | null // of the response
  task: Task | null // the task that continues, or that failed
  tasks?: Task[] // accepted tasks that a ledger could not record
  resume: string | null // the command that resumes the task or the batch
  kept?: string // what arrived of a damaged delivery
  may_have_been_billed: boolean // a task that nobody knows
  exit_code: int // see `kiln exit-codes`; in `not_saved`, that of this picture alone
  index?: int // in `not_saved`, which of several pictures, from 1
  number?: int // in `not_saved`, the submission that `kiln resume` could not finish
}
export interface Violation { loc: unknown[]; msg: string; type: string }
export interface Problem { file: string; line: int; message: string } // line 0: not about a line

// Pictures and tasks

// Pass it to `kiln task` on any machine with the key.
export interface Task {
  id: string; polling_url: string
  operation?: string // the model
  region?: "global" | "regional"
  submission?: string // its id in the history
  submitted_at?: number // seconds since the Unix epoch, with milliseconds
  cost?: number | null
  input_mp?: number | null; output_mp?: number | null // megapixels
  seed?: int | null // only in `task submit`
}
export interface Picture {
  task: Task
  index?: int // which of several pictures, from 1
  seed?: int | null // of one of several pictures, if it was given
  path: string
  kind: "jpeg" | "png" | "webp" | "gif" | "mp4" | "webm" | null // null for a device or a pipe
  width: int | null; height: int | null
  bytes: int
  difference: string | null // from what the request asked for
}
export interface Request {
  event: "dry_run"; operation: string; method: "POST"; path: string
  body: Record<string, unknown> // an image has `bytes`, `format`, `width`, `height`, `file`
  already_paid: int | null // the number of a submission of the same request
  price: number | null // 0 with `--simulate`, from the setting `prices`, or that of `price_of`
  price_of: int | null // the last submission of the same model and size
}
export interface Status {
  id: string
  status: string // as the service says it
  final: boolean
}
export interface Finished {
  task: Task; status: "Ready"
  expires_at: int // until then, `kiln task save` can save the picture
}
export interface Resolved { number: int; id: string; status: string }
export interface Dismissed {
  event: "dismissed"
  dry_run: boolean // whether they only would be
  submissions: int; numbers: int[]
  cost: number | null // the known and expected costs; null if none is known
  without_price: int // those without one
}
export interface Entry {
  number: int // without the `@`
  submitted_at: int; model: string
  state: string // docs/kiln.md lists them
  details: unknown // what the service said about a failure
  damaged: string | null // what arrived of a damaged delivery
  id: string | null; cost: number | null
  expected_cost: number | null // of an unknown one: the highest known cost of its model
  path: string | null // the saved picture
  output: string | null // its target
  bytes: int | null; sha256: string | null // of the saved picture
  made_from: int[] // the numbers of the submissions whose pictures are its images
  again_of: int | null // the number of the submission that it repeats
  profile: string | null
  group: string | null // the submissions of one command have the same
  index: int // which of several pictures of its command, from 1
  accepted_at: int | null; ready_at: int | null
  prompt: string | null; seed: int | null
  key: string | null; attempt: int | null // of --key and --attempt
  fields: Record<string, unknown> | null // an image has `path` or `url`, and `sha256`
}
export interface Described {
  job: string | null // of a batch
  path: string // of the description
  bytes: int; sha256: string
  model: string; id: string; seed: int | null; cost: number | null
  submitted_at: unknown; ready_at: unknown
  prompt: string | null; fields: Record<string, unknown>
}

// Batches

export interface Job {
  event: "job"; name: string; model: string; group: string | null
  metadata: unknown // yours, from the job file
  priority: int
  state: string // crates/batch/README.md lists them
  reason: string | null // why the job has no picture, or how it differs from the request
  submissions: int // those that were certainly not billed do not count
  task_id: string | null; credits: number | null
  sent_at: int | null // its last submission
  location: string | null // the path or the URL of the picture
}
export interface ListedJob extends Job {
  prompt: string | null // of an unknown job, as the next member; null for the others
  expected_credits: number | null // from the price of the model; null if it has none
  deleted: boolean // whether the file of a saved picture no longer exists
}
export interface ResolvedJobs {
  event: "resolved"
  dry_run: boolean // whether they only would be
  decision: "paid" | "not_paid" | "damaged"
  jobs: int; credits: number | null // resolved ones, their known and expected cost
  without_price: int // those without one
  left_out: int; names: ResolvedNames
}
export interface ResolvedNames {
  resolved: string[]
  held: string[] // left out: their requests may still be sent
  changed: string[] // left out: they are in another state
}
export interface Reconciled {
  event: "reconciled"
  dry_run: boolean // whether nothing was changed
  entries: int // of the usage
  jobs: ReconciledJob[] // all that were unknown
}
export interface ReconciledJob {
  name: string
  decision: "task" | "paid" | "not_paid" | "left"
  task_id: string | null // with which it continues
  reason: string | null // why it is left to a person
}
export interface Counts {
  jobs: int; credits: number // all jobs of the ledger, and their known cost
  states: Record<string, int>; rows: Row[]
}
export interface Row {
  state: string; model: string; jobs: int; credits: number
  without_cost: int // submitted jobs without a known cost
}
export interface Report extends Counts { event: "report" }
export interface LedgerStatus extends Counts {
  event: "status"
  ledger: string
  outages: Outage[]
  listed: ListedJob[] // those that need attention, or the selected ones; incomplete unless the exit code is 0
}
export interface Advanced {
  event: "advanced"
  ended: boolean // otherwise call `batch advance` again
  wait: number | null // seconds before that; null if the job has ended
  reason: string | null // why it has no picture, or what it waits for
  job: Job | null // null if another process has opened the ledger
}
export interface Plan {
  jobs: int; submitted_before: int // to be submitted, and others that were
  queued_before: int // others, which only the ledger has, and which the run submits, too
  upright: int // images that --upright turns
  credits: number | null // if all prices are known
  output: string
  models: PlannedModel[]
  first: PlannedJob[] // five jobs
}
export interface PlannedModel { model: string; jobs: int; credits: number | null }
export interface PlannedJob {
  line: int; name: string; model: string; target: string
  seed: int | null // null if the model has none
}
export interface ChangedJobs {
  event: "cancelled" | "retried" | "removed" | "archived"
  jobs: int // their number
}
export interface Moved { event: "priority"; jobs: int; priority: int }
export interface Limit {
  scope: "ledger" | "model" | "group" | "each_group"
  name: string | null // of the model or the group
  paused: boolean
  budget: number | null; max_active: int | null
  rate: int | null // submissions per minute
  credits: number; without_cost: int // what counts for the budget
  active: int
}
export interface Price {
  model: string
  credits: number // for each submission
  per_megapixel: number
}
export interface Limits { event: "limits"; limits: Limit[]; prices: Price[]; outages: Outage[] }
export interface Outage { // why nothing is submitted, although no limit forbids it
  model: string | null // null if nothing is submitted
  since: number // seconds since the Unix epoch
  wait: number // seconds until one submission finds out whether it has ended
  pauses: int
  kind: string // of the refusal, or "outage" if the service does not say whether it accepts
  reason: string
}
// Presets and costs

export interface Preset {
  name: string; model: string
  prompt: string | null // with named parts
  fields: Record<string, unknown>
}
export interface Spending {
  event: "spending"; rows: SpendingRow[]
  submissions: int; without_cost: int; credits: number; estimated: number // sums
  unreadable: Unreadable[] // ledgers that are not counted
}
export interface SpendingRow { // what the rows are not about is null
  day: string | null // in UTC, such as 2026-11-26
  group: string | null; model: string | null; profile: string | null; ledger: string | null
  submissions: int // that were or may have been billed
  without_cost: int; credits: number
  estimated: number // those without cost, at the price of the model
}
export interface Unreadable { ledger: string; message: string }

// Models

export interface Model {
  name: string; id: string; path: string
  summary: string; description: string
  good_for: string[] // the commands that accept it, besides `run` and `submit`
  deprecated: boolean
  regional: boolean // needs `regional_base_url`
  max_reference_images: int | null
  max_input_megapixels: number | null // larger images are refused, or scaled to:
  scaled_to_megapixels: number | null
  needs: Need[] // what a request needs, although the contract leaves it optional
  path_parameters: string[]
  all_fields_shown: boolean; fields: Field[]
  not_shown: string[] // what the contract does not tell
}
export interface Need {
  any_of?: string[] // one of these fields
  unless_alpha_in?: string | null // the field of an image
  images?: int // this number of images
  why: string
}
export interface Field {
  name: string; description: string; required: boolean; nullable: boolean
  kind: "text" | "integer" | "number" | "boolean" | "choice" | "image" | "aspect_ratio"
    | "address" | "secret" | "json"
  details: Details | null
  default: unknown // of the service; null if not known
  minimum: number | null; maximum: number | null; multiple_of: number | null
  min_length: int | null; max_length: int | null // characters
}
export interface Details {
  values?: string[] // of a choice
  takes_url?: boolean | null; max_megapixels?: number | null // of an image
  mask_of?: string | null; same_size?: boolean // of a mask: its image, whether sizes must agree
  narrowest?: string; widest?: string // of an aspect ratio, such as 21:9
}

// This machine

export interface ExitCode {
  code: int
  retry: boolean // the same command may succeed later, and charges nothing twice
  charged: "no" | "yes" | "unknown" | "see output"
  meaning: string
}
export interface Path { path: string }
export interface Configuration { path: string; settings: Setting[] }
export interface Setting {
  name: string
  value: unknown // a string, strings or null; `[set]` for secrets
  source: string // a flag, a variable, a file or `default`
}
export interface Changed { name: string; changed: boolean; profile: string | null; path: string }
export interface Profiles {
  profile: string; source: string // the one in effect, and what chose it
  profiles: Profile[]
}
export interface Profile {
  name: string; base_url: string | null
  key_stored: boolean; in_effect: boolean
}
export interface Checkup { ok: boolean; checks: Check[] }
export interface Check {
  name: string; state: "ok" | "skipped" | "problem"
  message: string; advice: string | null
}
export interface StoredKey { profile: string; place: "file"; path: string }
export interface Simulator {
  base_url: string; regional_base_url: string
  control_url: string // of the page and the control interface
  api_key: string; model_prefix: string
}

// Webhooks

export interface Webhook {
  task_id: string | null
  claimed_status: string | null // not confirmed by a poll
  message_id: string | null // of Standard Webhooks
  body: unknown // it may contain signed URLs
}
export interface Listening { event: "listening"; url: string }
export interface Received extends Webhook {
  event: "received"; verified: boolean
  headers?: string[] // the names, if it is not verified
}
export interface Refused {
  event: "refused"; verified: false
  // not_json, broken_off (400); missing, malformed, wrong, too_old, from_future (401);
  // too_slow (408); too_large (413)
  reason: string; message: string
  bytes: int | null // the length of the body, if it was read
  headers: string[] // the names
}
