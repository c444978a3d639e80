/** The product broke its promise in a simulated run. */
export class Violation extends Error {
  override readonly name = 'Violation';
}
