/** A command failed for a known reason. Holds the message, a hint and the exit code. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  readonly exitCode: number;
  readonly hint: string;

  constructor(exitCode: number, message: string, hint = '') {
    super(message);
    this.exitCode = exitCode;
    this.hint = hint;
  }
}
