import { Command } from "commander";
export const groupsCommand = (): Command => new Command("groups");
