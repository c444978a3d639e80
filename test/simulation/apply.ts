import type { Action } from './scenario.ts';
import type { World } from './world.ts';

/** Applies an action to the world. */
export function apply(action: Action, world: World): void {
  const { service, processes, redis, store, disk } = world;
  switch (action.do) {
    case 'add':
    case 'change':
    case 'unlist':
    case 'break':
    case 'repeat':
      service[action.do](action.leads);
      break;
    case 'change-one':
      service.changeOne(action.lead);
      break;
    case 'contradict':
      service.contradict(action.leads);
      world.until(action.forMs, () => service.agree());
      break;
    case 'relist':
    case 'shuffle':
    case 'mend':
      service[action.do]();
      break;
    case 'service':
      service.manner = action.manner;
      world.until(action.forMs, () => {
        service.manner = 'fine';
      });
      break;
    case 'sink': {
      const destination = world.destination(action.sink);
      destination.manner = action.manner;
      world.until(action.forMs, () => {
        destination.manner = 'fine';
      });
      break;
    }
    case 'dislike': {
      const destination = world.destination(action.sink);
      destination.dislike(action.lead, action.how);
      world.until(action.forMs, () => destination.like(action.lead));
      break;
    }
    case 'trap':
      processes.arm(action.process, action.trap);
      break;
    case 'kill':
    case 'freeze':
      processes[action.do](action.process, action.forMs);
      break;
    case 'restart':
      processes.restart(action.process, action.graceMs);
      break;
    case 'retire':
      world.retire(action.sink, action.forMs);
      break;
    case 'redis':
      redis?.[action.fault]();
      break;
    case 'redis-down':
      redis?.setDown(true);
      world.until(action.forMs, () => redis?.setDown(false));
      break;
    case 'redis-late':
      redis?.setDelay(60_000);
      world.until(action.forMs, () => redis?.setDelay(0));
      break;
    case 'redis-twofold':
      if (redis) redis.isTwofold = true;
      world.until(action.forMs, () => {
        if (redis) redis.isTwofold = false;
      });
      break;
    case 'silence':
      processes.setSilent(true);
      world.until(action.forMs, () => processes.setSilent(false));
      break;
    case 'ledger-full':
      store.setFull(true);
      world.until(action.forMs, () => store.setFull(false));
      break;
    case 'ledger-busy':
      store.setBusy(true);
      world.until(action.forMs, () => store.setBusy(false));
      break;
    case 'ledger-fails':
      store.failSome(action.after, action.times);
      break;
    case 'clock':
      world.setClock(action.byMs);
      break;
    case 'disk':
      disk.fault = action.code;
      world.until(action.forMs, () => {
        disk.fault = undefined;
      });
      break;
    case 'power-cut':
      processes.killAll(action.forMs);
      disk.cutPower();
      break;
    default:
      world.command(action);
  }
}
