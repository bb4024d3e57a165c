/** Everything that could grow has a limit with a name. Units stand last. */

/** A batch sent to a store holds no more items and no more bytes than this. */
export const BATCH_ITEMS_MAX: number = 512;
export const BATCH_BYTES_MAX: number = 4 * 1024 * 1024;

/** Calls of one kind that may wait in this process for a batch. Past it: `overloaded`. */
export const QUEUE_ITEMS_MAX: number = 100_000;

/** Duplicates that may wait for one running execution in this process. Past it: `overloaded`. */
export const JOINERS_MAX: number = 10_000;

export const SCOPE_BYTES_MAX: number = 512;
export const KEY_BYTES_MAX: number = 512;
export const FINGERPRINT_BYTES_MAX: number = 512;
export const STEP_NAME_BYTES_MAX: number = 512;
export const OWNER_BYTES_MAX: number = 512;

/** Steps that one record may keep. */
export const STEPS_MAX: number = 1_000;

/** The default of `resultBytesMax`. */
export const RESULT_BYTES_MAX: number = 1024 * 1024;
export const METADATA_BYTES_MAX: number = 64 * 1024;

/** An error's message is cut to this before it is stored. */
export const ERROR_MESSAGE_CHARACTERS_MAX: number = 2_000;

/** Ten years. A longer duration is a mistake in units. */
export const DURATION_MS_MAX: number = 10 * 365 * 24 * 60 * 60 * 1000;

/** What one `list` call may answer. */
export const LIST_RECORDS_MAX: number = 1_000;
