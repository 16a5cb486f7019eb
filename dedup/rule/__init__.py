"""The rule: does a page repeat another one, and what becomes of it?"""
