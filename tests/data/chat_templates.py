"""Conversations by chat templates, rendered by transformers, for chat_test.cpp.

    chat_templates.py FOLDER CHAT.JSONL [NAME.jinja ...]

For each template, of this file or those named, FOLDER/NAME/tokenizer_config.json and
FOLDER/NAME/texts: for each conversation the text, and of each answer where it begins, in bytes,
each with a NUL behind it; "refused" and a NUL for one that the template does not take, or of which
it writes something else once there is an answer.
"""
import json
import os
import sys

from jinja2.exceptions import TemplateError
from transformers.utils.chat_template_utils import render_jinja_template

LOOP = ("{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"
        "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")


def with_default(system):
    return ("{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
            "{{ '<|im_start|>system\n" + system + "<|im_end|>\n' }}{% endif %}" + LOOP)


def mistral(behind):
    return (
        "{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != "
        "(loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate "
        "user/assistant/user/assistant/...') }}{% endif %}{% if message['role'] == 'user' %}{{ "
        "'[INST] ' + message['content'] + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ "
        "message['content'] + " + behind + " }}{% else %}{{ raise_exception('Only user and "
        "assistant roles are supported!') }}{% endif %}{% endfor %}")


# As they were published.
PUBLISHED = {
    "chatml": "{% for message in messages %}" + LOOP,
    "qwen2": with_default("You are a helpful assistant."),
    "smollm2": with_default("You are a helpful AI assistant named SmolLM, trained by Hugging Face"),
    "llama3": (
        "{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = "
        "'<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | "
        "trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}"
        "{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}{{ "
        "'<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"),
    "mistral-v0.1": mistral("eos_token + ' '"),
    "mistral": mistral("eos_token"),
    "zephyr": (
        "{% for message in messages %}\n{% if message['role'] == 'user' %}\n{{ '<|user|>\n' + "
        "message['content'] + eos_token }}\n{% elif message['role'] == 'system' %}\n{{ "
        "'<|system|>\n' + message['content'] + eos_token }}\n{% elif message['role'] == 'assistant'"
        " %}\n{{ '<|assistant|>\n'  + message['content'] + eos_token }}\n{% endif %}\n{% if "
        "loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n{% endfor %}"),
}

# Of those that are long, what they write where there are no tools. These are written for this test
# and are not recognised: the texts are what is compared.
TURNS = "{% for m in messages[first:] %}{% if m.role == 'user' %}"
SYSTEM = ("{% set first = 1 if messages[0].role == 'system' else 0 %}"
          "{% set system = messages[0].content if first else none %}")
SHORT = {
    "qwen2.5": with_default("You are Qwen, created by Alibaba Cloud. You are a helpful assistant."),
    "qwen3": (
        "{% for m in messages %}<|im_start|>{{ m.role + '\n' }}{% if m.role == 'assistant' %}"
        "{% set parts = m.content.split('</think>') %}"
        "{% set said = parts[-1].lstrip('\n') if parts|length > 1 else m.content %}"
        "{% set thought = parts[0].split('<think>')[-1].strip('\n') if parts|length > 1 else '' %}"
        "{{ '<think>\n' + thought + '\n</think>\n\n' + said.lstrip('\n') if loop.last else said }}"
        "{% else %}{{ m.content }}{% endif %}{{ '<|im_end|>\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"),
    "llama2": (
        SYSTEM + TURNS +
        "{% set all = '<<SYS>>\n' + system + '\n<</SYS>>\n\n' + m.content "
        "if loop.first and first else m.content %}"
        "<s>[INST] {{ all.strip() }} [/INST]{% else %} {{ m.content.strip() }} </s>{% endif %}"
        "{% endfor %}"),
    "llama3.1": (
        SYSTEM + "<|begin_of_text|>{{ '<|start_header_id|>system<|end_header_id|>\n\n'"
        " + 'Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n'"
        " + (system or '') | trim }}<|eot_id|>{% for m in messages[first:] %}"
        "<|start_header_id|>{{ m.role }}<|end_header_id|>{{ '\n\n' + m.content | trim }}<|eot_id|>"
        "{% endfor %}{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>"
        "{{ '\n\n' }}{% endif %}"),
    "mistral-v1": (
        SYSTEM + "<s>" + TURNS +
        " [INST] {{ (system + '\n\n' if loop.first and first else '') + m.content }} [/INST]"
        "{% else %} {{ m.content }}</s>{% endif %}{% endfor %}"),
    "mistral-v3": (
        SYSTEM + "<s>" + TURNS +
        "[INST] {{ (system + '\n\n' if loop.last and first else '') + m.content }}[/INST]"
        "{% else %} {{ m.content | trim }}</s>{% endif %}{% endfor %}"),
}

BOS, EOS = "<|start|>", "<|endoftext|>"


def render(template, messages, asks=False):
    texts, _ = render_jinja_template(conversations=[messages], chat_template=template,
                                     add_generation_prompt=asks, bos_token=BOS, eos_token=EOS,
                                     date_string="26 Jul 2024")  # which one takes from the clock
    return texts[0]


def parts_of(template, messages):
    """The text, and where each answer begins: behind what asks for it."""
    try:
        text = render(template, messages)
    except TemplateError:
        return ["refused"]
    begins = []
    for i, message in enumerate(messages):
        if message["role"] == "assistant":
            before = render(template, messages[:i], asks=True)
            if not text.startswith(before):
                return ["refused"]
            begins.append(str(len(before.encode())))
    return [text, *begins]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def main(folder, chat, *files):
    named = {os.path.basename(path).removesuffix(".jinja"): read(path) for path in files}
    with open(chat, encoding="utf-8") as file:
        conversations = [json.loads(line)["messages"] for line in file]
    for name, template in (named or {**PUBLISHED, **SHORT}).items():
        os.makedirs(f"{folder}/{name}")
        with open(f"{folder}/{name}/tokenizer_config.json", "w", encoding="utf-8") as file:
            # As it lies in such files: a line end in a text is written \n there too.
            json.dump({"chat_template": template, "bos_token": BOS,
                       "eos_token": {"content": EOS, "lstrip": False}}, file)
        parts = [part for messages in conversations for part in parts_of(template, messages)]
        with open(f"{folder}/{name}/texts", "w", encoding="utf-8", newline="") as file:
            file.write("".join(part + "\0" for part in parts))


if __name__ == "__main__":
    main(*sys.argv[1:])
