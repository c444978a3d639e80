/**
 * Calls `report` when an error reaches no handler, including an error with which a promise without a handler rejects. Then ends the process with exit
 * code 1, because the state of the program is unknown. Without this, Node.js would print the error's message, which can quote a lead.
 */
export function listenForCrash(report: (error: unknown) => void): void {
  process.on('uncaughtException', (error) => {
    try {
      report(error);
    } finally {
      process.exit(1);
    }
  });
}
