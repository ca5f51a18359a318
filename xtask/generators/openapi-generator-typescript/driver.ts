// Makes a picture with the client of openapi-generator's `typescript-fetch`.

import { writeFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { Configuration, GenerationApi, TasksApi } from "./generated";

const MAX_POLLS = 100;

async function main() {
    const configuration = new Configuration({
        basePath: process.env.IMAGEKILN_BASE_URL,
        apiKey: process.env.IMAGEKILN_API_KEY,
    });
    const task = await new GenerationApi(configuration).gen2Pro({
        gen2Pro: { prompt: "a red fox in the snow", width: 256, height: 256, seed: 7 },
    });
    const tasks = new TasksApi(configuration);
    for (let polls = 1; polls <= MAX_POLLS; polls++) {
        const poll = await tasks.getResult({ id: task.id });
        if (poll.status === "Ready" && poll.result?.sample) {
            const picture = await fetch(poll.result.sample);
            await writeFile(process.argv[2], Buffer.from(await picture.arrayBuffer()));
            console.log(polls);
            return;
        }
        await setTimeout(100);
    }
    throw new Error(`the task ${task.id} was not ready after ${MAX_POLLS} polls`);
}

main();
