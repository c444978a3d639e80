/** A promise that the product broke in a simulated run. */
export class Violation extends Error {
  override readonly name = 'Violation';
}
