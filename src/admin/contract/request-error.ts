/** The failure of a request. The API and the pages show the message and the hint to the client, so neither may contain a secret or personal data. */
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
