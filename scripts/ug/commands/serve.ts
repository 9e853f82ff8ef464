import { Command } from "commander";

/** `ug serve`: runs the service on this machine. */
export const serveCommand = (): Command =>
  new Command("serve").description("run the service on this machine, on plain workerd");
