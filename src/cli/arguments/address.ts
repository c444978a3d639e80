import { InvalidArgumentError } from 'commander';

/** A host and port to listen on or connect to. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Parses `host:port` or `[::1]:port`. @throws InvalidArgumentError */
export function readAddress(text: string): Address {
  const [, v6, name, port] = /^(?:\[([0-9a-f:.]+)\]|([^:]+)):(\d{1,5})$/i.exec(text) ?? [];
  const host = v6 ?? name;
  if (host === undefined || Number(port) > 65_535)
    throw new InvalidArgumentError('It must be HOST:PORT, such as 127.0.0.1:9465.');
  return { host, port: Number(port) };
}
