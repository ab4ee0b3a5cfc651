const stopSignals = ['SIGINT', 'SIGTERM'] as const;

/** Resolves with the next SIGINT or SIGTERM to this process, which then does not end it. */
export function nextStopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const onSignal = (signal: NodeJS.Signals): void => {
      for (const name of stopSignals) process.off(name, onSignal);
      resolve(signal);
    };
    for (const name of stopSignals) process.on(name, onSignal);
  });
}
