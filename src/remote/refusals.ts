/**
 * Why a gateway refuses a request of a worker in another runtime. Apart from it, so that a dashboard that has no such worker needn't load
 * the modules of one.
 *
 * @module
 */

/** No worker of this process has the ID: it was never registered here, has stopped, or wasn't heard for too long. */
export class UnknownWorker extends Error {
  override readonly name = "UnknownWorker";
}

/** Another user has registered the worker. */
export class ForeignWorker extends Error {
  override readonly name = "ForeignWorker";
}

/** This process has as many workers as it may have. */
export class TooManyWorkers extends Error {
  override readonly name = "TooManyWorkers";
}

/** This process stops. */
export class GatewayClosed extends Error {
  override readonly name = "GatewayClosed";

  constructor() {
    super("This server stops; use another one, or try again");
  }
}

/** A registration was on its way for long: the program has registered again since. */
export class LateRegistration extends Error {
  override readonly name = "LateRegistration";
}
