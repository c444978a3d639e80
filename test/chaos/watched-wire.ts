import { listening, Wire } from '../support/servers/wire.ts';
import { SpellRecord } from './spell-record.ts';

/** The line of a machine to the server of the ledger, which records when it was in trouble. */
export class WatchedWire extends Wire {
  readonly trouble = new SpellRecord();

  static override async to(port: number): Promise<WatchedWire> {
    return new WatchedWire(await listening(), port);
  }

  override cut(): void {
    this.trouble.begin();
    super.cut();
    this.trouble.end();
  }

  override unplug(): void {
    this.trouble.begin();
    super.unplug();
  }

  override stall(): void {
    this.trouble.begin();
    super.stall();
  }

  override delay(ms: number): void {
    this.trouble.begin();
    super.delay(ms);
  }

  override heal(): void {
    super.heal();
    this.trouble.end();
  }
}
