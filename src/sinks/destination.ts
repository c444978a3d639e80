/** A field of a destination to which a mapping can send a value. */
export interface DestinationField {
  /** The name under which the option `fields` addresses it. */
  readonly name: string;
  /** The destination's name for its type: `bigint`, `enumeration`. */
  readonly type: string;
  /** The name that people see at the destination; absent if it is `name`. */
  readonly label?: string | undefined;
  /** Whether a mapping may write it. */
  readonly writable: boolean;
  /** Whether a new record has to have it. */
  readonly required: boolean;
  /** Maximum characters of its value; absent if the destination states none. */
  readonly maxLength?: number | undefined;
  /** The values that it takes, if it does not take every value of its type. */
  readonly options?: readonly string[] | undefined;
}

/** Something that a destination lacks, without which it does not take the leads of a sink. */
export interface MissingPart {
  /** What is missing, as a phrase without an article: `column "rooms" of "leadsync".leads (bigint)`. */
  readonly what: string;
  /** How an administrator makes it without leadsync: statements, or a request. Contains no secret. */
  readonly how: string;
  /** Makes it. Succeeds as well if it has been made in the meantime. @throws SinkUnavailable */
  make(signal: AbortSignal): Promise<void>;
}
