/** A request that fails. The API and the pages show its message and hint to the client, so they must contain no secret and no personal data. */
export class RequestError extends Error {
  override readonly name = 'RequestError';
  /** HTTP status. */
  readonly status: number;
  /** Stable code for programs, such as `unknown-sink`. */
  readonly code: string;
  /** Next step; may be empty. */
  readonly hint: string;

  constructor(status: number, code: string, message: string, hint: string) {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
  }
}
