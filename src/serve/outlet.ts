/** Where a handler writes serialized responses. */
export interface Outlet {
  /**
   * Sends one message. Undefined if more may follow at once, else a promise of the moment when there
   * is room again; it rejects with the call's abort reason. One write at a time.
   */
  write(message: Uint8Array): Promise<void> | undefined;
}
