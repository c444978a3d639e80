/** A field of a destination to which a mapping can send a value. */
export interface DestinationField {
  /** The name under which the option `fields` addresses it. */
  readonly name: string;
  /** The destination's name for the type of the field: `bigint`, `enumeration`. */
  readonly type: string;
  /** The name that people see at the destination; absent if it is `name`. */
  readonly label?: string | undefined;
  /** Whether a mapping may write it. */
  readonly writable: boolean;
  /** Whether a new record must have a value in this field. */
  readonly required: boolean;
  /** Maximum number of characters in its value; absent if the destination states none. */
  readonly maxLength?: number | undefined;
  /** The values that the field accepts, if it does not accept every value of its type. */
  readonly options?: readonly string[] | undefined;
}

/** Something that a destination lacks and needs before it can accept the leads of a sink. */
export interface MissingPart {
  /** What is missing, as a phrase without an article: `column "rooms" of "leadsync".leads (bigint)`. */
  readonly what: string;
  /** How an administrator can create it without leadsync: SQL statements or shell commands. Contains no secret. */
  readonly how: string;
  /** Creates it. Also succeeds if it has been created in the meantime. @throws SinkUnavailable */
  make(signal: AbortSignal): Promise<void>;
}
