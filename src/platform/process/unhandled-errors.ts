/**
 * Calls `report` when an error reaches no handler, including an error with which a promise without a handler rejects. Then ends the process with exit
 * code 1, because the state of the program is unknown. Without this, Node.js would print the error's message, which can quote a lead. Returns a function that stops listening.
 */
export function listenForCrash(report: (error: unknown) => void): () => void {
  const listener = (error: unknown) => {
    try {
      report(error);
    } finally {
      process.exit(1);
    }
  };
  process.on('uncaughtException', listener);
  return () => process.off('uncaughtException', listener);
}
