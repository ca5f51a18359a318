// Uses all of MemberJunction's image generator for the service, and prints a line for each case.

import { FLUXImageGenerator } from "@memberjunction/ai-blackforestlabs";

const { IMAGEKILN_API_KEY, IMAGEKILN_BASE_URL, IMAGEKILN_MODEL_PREFIX: prefix } = process.env;
const prompt = "a red fox in the snow";

function generator(key = IMAGEKILN_API_KEY) {
    const generator = new FLUXImageGenerator(key, `${IMAGEKILN_BASE_URL}/v1`);
    generator.setPollingConfig({ pollInterval: 200, maxWaitTime: 5_000 });
    return generator;
}

/** Returns the picture of a result, which has an error instead of throwing it. */
async function picture(result) {
    const { success, errorMessage, images } = await result;
    if (!success) throw new Error(errorMessage);
    const isPng = images[0].data.subarray(1, 4).toString() === "PNG";
    if (!isPng) throw new Error("not a PNG file");
    return images[0].data;
}

function generate(name, settings = {}, key = IMAGEKILN_API_KEY) {
    const parameters = { model: `${prefix}-${name}`, prompt, ...settings };
    return picture(generator(key).GenerateImage(parameters));
}

/** Fails unless the error has this text. */
async function error(expected, act) {
    const found = await act.then(() => "no error", String);
    if (!found.includes(expected)) throw new Error(found);
}

const image = await generate("dev", { size: "256x256" });
const mask = image;

const cases = {
    "2-pro": () => generate("2-pro"),
    "1.1-pro": () => generate("1.1-pro", { size: "512x256", seed: 7 }),
    dev: () => generate("dev", { providerOptions: { steps: 20, guidance: 3 } }),
    pro: () => generate("pro"),
    schnell: () => generate("schnell"),
    ultra: () => generate("ultra", { aspectRatio: "16:9" }),
    edit: () => picture(generator().EditImage({ prompt, image, mask })),
    variation: () => picture(generator().CreateVariation({ prompt, image })),
    "invalid request": () => error("(422)", generate("dev", { size: "7x7" })),
    "unknown key": () => error("(403)", generate("dev", {}, "unknown")),
    "status Error": () => error("failed: Error", generate("dev", { prompt: "[[error]]" })),
    "status Request Moderated": () =>
        error("Request Moderated", generate("dev", { prompt: "gore" })),
    "status Content Moderated": () =>
        error("Content Moderated", generate("dev", { prompt: "a weapon" })),
    "status Task not found": () => error("result", generate("dev", { prompt: "[[not-found]]" })),
};

for (const [name, act] of Object.entries(cases)) {
    await act().then(
        () => console.log(`ok ${name}`),
        (found) => console.log(`failed ${name}: ${String(found).replace(/\s+/g, " ")}`),
    );
}
