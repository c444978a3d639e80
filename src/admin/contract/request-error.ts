/** What cannot be done as it was asked. Told to whoever asked, by the API and on pages: holds no secret and nobody's data. */
export class RequestError extends Error {
  override readonly name = 'RequestError';
  /** As HTTP has it. */
  readonly status: number;
  /** For programs to branch on: `unknown-sink`. */
  readonly code: string;
  /** What to do next. */
  readonly hint: string;

  constructor(status: number, code: string, message: string, hint: string) {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
  }
}
