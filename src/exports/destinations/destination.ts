/** The destination of an export or backup. Its constructor opens no connection. */
export interface Destination {
  /** Checks that an export can be stored, and leaves nothing behind. @throws ExportFailed */
  check(signal: AbortSignal): Promise<void>;
  /** The folder that an export is written to, under its final name. */
  readonly folder: string;
  /**
   * Creates the folder. If the folder is the final destination, creates it only if `first` is true (see `ExportRun`); otherwise the folder
   * must exist. @throws ExportFailed
   */
  prepare(first: boolean): Promise<void>;
  /** Removes everything that killed runs of this export have left behind. @throws ExportFailed */
  tidy(signal: AbortSignal): Promise<void>;
  /** Moves an export from the folder to its destination. Until the move is complete, `list` omits the export. @throws ExportFailed */
  bring(file: string, signal: AbortSignal): Promise<void>;
  /** Returns the file names of this export at the destination, oldest first. @throws ExportFailed */
  list(signal: AbortSignal): Promise<readonly string[]>;
  /** Removes a file or folder of this export. @throws ExportFailed */
  remove(file: string, signal: AbortSignal): Promise<void>;
  /** Returns the path or address of a file, for messages. */
  nameOf(file: string): string;
  /**
   * Returns up to `bytes` bytes from the start of a file; an empty buffer if the storage service does not allow the file to be read.
   * @throws ExportFailed
   */
  readStart(file: string, bytes: number, signal: AbortSignal): Promise<Buffer>;
  /** Calls `use` with a local path of a file, which is valid until `use` has settled. @throws ExportFailed */
  read<T>(file: string, use: (path: string) => Promise<T>, signal: AbortSignal): Promise<T>;
  close(): void;
}
