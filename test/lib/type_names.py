# SPDX-License-Identifier: Apache-2.0
"""Comparing names of types that compilers, demanglers and people spell in several ways."""
import re

STRING = "std::basic_string<char,std::char_traits<char>,std::allocator<char>>"


def canonical(name):
    """One spelling of a name. It evens out blanks, inline namespaces, the side of const and how
    numbers are written, nothing else: different types stay different."""
    name = re.sub(r"\bstd::(__cxx11|__1)::", "std::", name)
    name = re.sub(r"\b(struct|class|union|enum) ", "", name)
    name = re.sub(r"\s*([,<>*&()])\s*", r"\1", name)
    name = re.sub(r"\blong unsigned int\b", "unsigned long", name)
    name = re.sub(r"(?<![\w.])(\d+)[uUlL]+\b", r"\1", name)
    name = name.replace("(__gnu_cxx::_Lock_policy)2", "__gnu_cxx::_S_atomic")
    name = re.sub(r"\bstd::string\b", STRING, name)
    return const_first(name)


def const_first(text):
    """Every "T const", however deep, as "const T"; behind * and & const stays where it is."""
    done, base, at = "", 0, 0  # base: where the present argument's type begins in `done`
    is_const = pointer = False

    def close():
        nonlocal done
        if is_const:
            done = done[:base] + "const " + done[base:].strip()

    while at < len(text):
        word = re.compile(r"\bconst\b ?").match(text, at)
        if word and not pointer:
            is_const = True
            done = (
                done.rstrip(" ")
                if at and text[at - 1] == " " and not text[word.end() : word.end() + 1].isalpha()
                else done
            )
            at = word.end()
            continue
        sign = text[at]
        if sign == "<":
            depth = end = 0
            for end in range(at, len(text)):
                depth += (text[end] == "<") - (text[end] == ">" and text[end - 1] != "-")
                if depth == 0:
                    break
            done += "<" + const_first(text[at + 1:end]) + ">"
            at = end + 1
            continue
        if sign == ",":
            close()
            done += ","
            base, is_const, pointer = len(done), False, False
        elif sign in "*&(" and not pointer:
            close()
            done += sign
            is_const, pointer = False, True
        else:
            done += sign
        at += 1
    close()
    return done


def same(one, other):
    return canonical(one) == canonical(other)
