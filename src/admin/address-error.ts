import { codeOf } from '../platform/failures/error-code.ts';
import { hostAndPort } from '../platform/http/host-and-port.ts';

/** The admin address cannot be listened on. */
export class AdminAddressError extends Error {
  override readonly name = 'AdminAddressError';
  /** The system's code: `EADDRINUSE`, `EACCES`, `EADDRNOTAVAIL`, `ENOTFOUND`, … */
  readonly code: string;
  /** What the operator can do next. */
  readonly hint: string;

  constructor(address: { readonly host: string; readonly port: number }, cause: unknown) {
    const code = codeOf(cause) ?? 'unknown error';
    super(`Cannot listen on ${hostAndPort(address)}: ${REASONS[code] ?? code}.`, { cause });
    this.code = code;
    this.hint = HINTS[code] ?? 'Set admin.listen to an address of this machine and a free port.';
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process listens there',
  EACCES: 'this user may not use that port',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'there is no host of that name',
};

const HINTS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'Stop that process (perhaps another leadsync), or set admin.listen to another port.',
  EACCES: 'Set admin.listen to a port from 1024 up.',
};
