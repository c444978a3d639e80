import { codeOf } from '../platform/failures/error-code.ts';
import { hostAndPort } from '../platform/http/address.ts';

/** The server cannot listen on `admin.listen`. */
export class AdminAddressError extends Error {
  override readonly name = 'AdminAddressError';
  /** System error code: `EADDRINUSE`, `EACCES`, `EADDRNOTAVAIL`, `ENOTFOUND`, … */
  readonly code: string;
  /** Next step for the operator. */
  readonly hint: string;

  constructor(address: { readonly host: string; readonly port: number }, cause: unknown) {
    const code = codeOf(cause) ?? 'unknown error';
    super(`Cannot listen on ${hostAndPort(address)}: ${REASONS[code] ?? code}.`, { cause });
    this.code = code;
    this.hint = HINTS[code] ?? 'Set admin.listen to an address of this machine and an unused port.';
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process uses that port',
  EACCES: 'this user has no permission for that port',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'that host name is unknown',
};

const HINTS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'Stop that process (perhaps another leadsync), or set admin.listen to another port.',
  EACCES: 'Set admin.listen to port 1024 or higher.',
};
