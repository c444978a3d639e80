/** Where the files of a scheduled export go. Made without opening a connection. */
export interface Destination {
  /** Proves that an export could be brought there, and leaves nothing behind. @throws ExportFailed */
  check(signal: AbortSignal): Promise<void>;
  /** The folder that an export is made in, under the name that it keeps. */
  readonly folder: string;
  /** Makes the folder; one that files are to stay in only with `first`, when none was ever made. @throws ExportFailed */
  prepare(first: boolean): Promise<void>;
  /** Removes what killed runs of this export have left. @throws ExportFailed */
  tidy(signal: AbortSignal): Promise<void>;
  /** Brings what was made in the folder to where it belongs; whole, or not at all under its name. @throws ExportFailed */
  bring(file: string, signal: AbortSignal): Promise<void>;
  /** The names of those of this export that are there, the oldest first. @throws ExportFailed */
  list(signal: AbortSignal): Promise<readonly string[]>;
  /** Removes one of them. @throws ExportFailed */
  remove(file: string, signal: AbortSignal): Promise<void>;
  /** How one of them is told to people: a path, an address. */
  nameOf(file: string): string;
  /** Lets one of them be read on this machine for as long as `use` takes: gives its path. @throws ExportFailed */
  read<T>(file: string, use: (path: string) => Promise<T>, signal: AbortSignal): Promise<T>;
  close(): void;
}
